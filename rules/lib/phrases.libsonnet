// Pieces of Prometheus templates that several alerts say. `%` is doubled: alert texts are filled from the config.
{
  // "detector version 2", "detector" over all versions, "The fleet".
  subject: '{{ or $labels.model "The fleet" }}{{ with $labels.version }} version {{ . }}{{ end }}',
  // The same without the fleet.
  model: '{{ $labels.model }}{{ with $labels.version }} version {{ . }}{{ end }}',
  number: '{{ $value | printf "%%.4g" }}',
  percent: '{{ $value | humanizePercentage }}',
  seconds: '{{ $value | humanizeDuration }}',

  // The first value of another series with the same labels, or nothing when there is none.
  look(record, labels, how='printf "%%.4g"', modifier='')::
    (import 'put.libsonnet')(
      '{{ with printf "<record>{<matchers>}<modifier>" <values> | query }}{{ . | first | value | <how> }}{{ end }}', {
        record: record,
        matchers: std.join(',', [name + '=%%q' for name in labels]),
        modifier: modifier,
        values: std.join(' ', ['(print $labels.' + name + ')' for name in labels]),
        how: how,
      }
    ),
}
