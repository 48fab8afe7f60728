// Rows of sources as joins need them, and how they are held: what they were within the last hour is read seldom, for an
// hour of every source is much to read, and counts only while no source is left.
local fit = import 'fit.libsonnet';
local rows(one, series) =
  local named = std.get(one, 'how', 'max') + ' by (' + one.by + ') (' + series + ')';
  if std.objectHas(one, 'keep') then 'topk by (' + one.keep + ') (1, ' + named + ')' else named;
{
  last_hour(one):: rows(one, 'last_over_time(' + one.series + '[%(span1h)s])'),

  held(name, one):: fit(|||
    %(now)s
    or
    (
      %(name)s:last_hour
        unless on (%(cluster)s)
      group by (%(cluster)s) (tritonobs_model_info)
    )
  |||, { now: rows(one, one.series), name: name }),
}
