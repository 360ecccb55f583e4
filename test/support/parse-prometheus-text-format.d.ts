/** The package comes without types. */
declare module 'parse-prometheus-text-format' {
  interface ParsedMetric {
    readonly name: string
    readonly help: string
    readonly type: 'COUNTER' | 'GAUGE' | 'HISTOGRAM' | 'SUMMARY' | 'UNTYPED'
    /** Of histograms, `buckets` by upper bound instead of `value`. */
    readonly metrics: readonly {
      readonly labels?: Readonly<Record<string, string>>
      readonly value?: string
      readonly buckets?: Readonly<Record<string, string>>
      readonly count?: string
      readonly sum?: string
    }[]
  }
  export default function parse(text: string): ParsedMetric[]
}
