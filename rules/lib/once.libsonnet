// `expr` without the versions of which it would say but the same as of their model: all the traffic is theirs, and
// their limit is no tighter. While a model has one version, an overflow is one alert. `by` are further labels; `expr`
// is a text block.
local fit = import 'fit.libsonnet';
function(expr, version, model, limit, by='') fit(|||
  (
    %(expr)s
  )
  unless on (%(subject)s%(by)s)
  (
    (
      %(version)s
        == on (%(model)s%(by)s) group_left ()
      %(whole)s
    )
    and on (%(subject)s%(by)s)
    (
      %(limit)s{version!=""}
        >= on (%(model)s%(by)s) group_left ()
      %(limit)s{model!="", version=""}
    )
  )
|||, {
  expr: expr,
  version: version,
  whole: model,
  limit: limit,
  by: by,
})
