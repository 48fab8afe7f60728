// Where traffic exceeds a share of its limit: at once when that can hardly be chance any more; for less than that
// after 5 m, as long as it lasts.
local of_limit = import 'of_limit.libsonnet';
local put = import 'put.libsonnet';
function(share) of_limit(put(|||
  (
    subject:triton_requests:rate%(short)s
      > on (%(subject)s)
    <share> * subject:tritonobs_qps_limit:held
      + clamp_min(
        %(limitNoise)s * sqrt(<share> * subject:tritonobs_qps_limit:held / %(shortSeconds)s),
        %(limitExcess)s / %(shortSeconds)s
      )
  )
  or
  (
    (
      subject:triton_requests:rate5m
        > on (%(subject)s)
      <share> * subject:tritonobs_qps_limit:held + %(limitExcess)s / 300
    )
    and on (%(subject)s)
    (
      avg_over_time(subject:triton_requests:rate%(short)s[%(medium)s])
        > on (%(subject)s)
      <share> * subject:tritonobs_qps_limit:held
    )
  )
|||, { share: share }))
