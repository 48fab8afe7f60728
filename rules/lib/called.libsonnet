// The models that pipelines call, of rows about those pipelines by the name of each as a model.
local fit = import 'fit.libsonnet';
function(rows) fit(|||
  group by (%(model)s) (
    pipeline_stage_model:tritonobs_pipeline_calls:held
      and on (%(pipeline)s)
    label_replace(group by (%(model)s) (%(rows)s), "pipeline", "$1", "model", "(.*)")
  )
|||, { rows: rows })
