// What is said of a subject and its limit of requests, once for a model that has but one version.
local once = import 'once.libsonnet';
local traffic = 'subject:triton_requests:rate%(short)s';
function(expr) once(
  expr,
  traffic + '{version!=""}',
  traffic + '{model!="", version=""}',
  'subject:tritonobs_qps_limit:held'
)
