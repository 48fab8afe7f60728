// `expr` without the versions of which it would say but the same as of their model: all the traffic is theirs, and
// their limit is no tighter. While a model has one version, an overflow is one alert. `by` are further labels; `expr`
// is a text block.
local put = import 'put.libsonnet';
function(expr, version, model, limit, by='') put(|||
  (
    <expr>
  )
  unless on (%(subject)s<by>)
  (
    (
      <version>
        == on (%(model)s<by>) group_left ()
      <whole>
    )
    and on (%(subject)s<by>)
    (
      <limit>{version!=""}
        >= on (%(model)s<by>) group_left ()
      <limit>{model!="", version=""}
    )
  )
|||, {
  expr: std.strReplace(std.substr(expr, 0, std.length(expr) - 1), '\n', '\n  '),
  version: version,
  whole: model,
  limit: limit,
  by: by,
})
