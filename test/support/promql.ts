import { parser } from '@prometheus-io/lezer-promql'

/** What a PromQL expression asks for. */
interface Query {
  /** Where it does not follow Prometheus's grammar; empty when it does. */
  readonly errors: readonly string[]
  readonly selectors: readonly Selector[]
  /** Labels in `by (…)`, `on (…)` and their like. */
  readonly groupingLabels: readonly string[]
}

interface Selector {
  readonly name: string
  readonly matchers: readonly { readonly label: string; readonly operator: string; readonly value: string }[]
}

/** Reads an expression by the grammar that Prometheus's own editor uses. */
export function readQuery(expression: string): Query {
  const errors: string[] = []
  const selectors: { name: string; matchers: { label: string; operator: string; value: string }[] }[] = []
  const groupingLabels: string[] = []
  const path: string[] = []
  parser.parse(expression).iterate({
    enter: ({ name, type, from, to }) => {
      const text = expression.slice(from, to)
      const parent = path.at(-1)
      const selector = selectors.at(-1)
      const matcher = selector?.matchers.at(-1)
      if (type.isError) errors.push(`at ${from}: ${expression.slice(from, from + 20)}`)
      else if (name === 'VectorSelector') selectors.push({ name: '', matchers: [] })
      else if (name === 'Identifier' && parent === 'VectorSelector' && selector !== undefined) selector.name = text
      else if (name === 'LabelName' && parent === 'GroupingLabels') groupingLabels.push(text)
      else if (name === 'LabelName') selector?.matchers.push({ label: text, operator: '', value: '' })
      else if (name === 'MatchOp' && matcher !== undefined) matcher.operator = text
      else if (name === 'StringLiteral' && parent?.endsWith('LabelMatcher') && matcher !== undefined)
        matcher.value = JSON.parse(text)
      path.push(name)
    },
    leave: () => {
      path.pop()
    },
  })
  return { errors, selectors, groupingLabels }
}
