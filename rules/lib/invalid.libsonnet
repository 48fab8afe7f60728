// Requests that were the caller's fault, since the evaluation before, of versions: what models told, and what a pipeline
// is not charged of its failures.
local fit = import 'fit.libsonnet';
local bad = 'model_version:triton_requests_bad:increase';
fit(|||
  sum by (%(subject)s) (
    %(told)s
    or
    %(seen)s
    or
    (-%(bad)s and on (%(subject)s) (%(told)s or %(seen)s))
  )
|||, {
  told: 'replica_model_version_outcome:tritonobs_requests_told:increase{outcome="invalid"}',
  seen: 'replica_model_version_seen_by:triton_requests_bad:increase',
  bad: bad,
})
