// What is said of a subject and its limit of requests, once for a model that has but one version.
local fit = import 'fit.libsonnet';
function(expr) fit(|||
  (
    %(expr)s
  )
  unless on (%(subject)s)
  model_version:tritonobs_limit_of_model:info
|||, { expr: expr })
