// Every knob with its value, for Python: boards draw the same thresholds, and the fleet file's reference
// lists them.
function(config) ((import 'config.libsonnet') + { _config+:: config })._config
