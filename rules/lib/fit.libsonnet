// Puts the expressions `values` into the template `text`, for readable PromQL. A placeholder %(name)s at the start of a line
// is replaced by the whole expression, indented like the line. Placeholders of the config stay; `text.fill` replaces them at
// the end.
local spaces = ['\n' + std.repeat(' ', depth) for depth in [0, 2, 4, 6, 8, 10, 12]];
function(text, values)
  local placed(done, name) =
    local word = '%(' + name + ')s';
    local value = std.rstripChars(values[name], '\n');
    local first(done, space) = std.strReplace(done, space + word, space + std.strReplace(value, '\n', space));
    std.strReplace(std.foldl(first, spaces, done), word, value);
  local done = std.foldl(placed, std.objectFields(values), '\n' + text);
  std.substr(done, 1, std.length(done) - 1)
