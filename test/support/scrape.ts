import parse from 'parse-prometheus-text-format'

type Family = ReturnType<typeof parse>[number]

/** A metrics page, read by a parser that is not ours. */
export class Scrape {
  readonly text: string
  readonly families: readonly Family[]

  constructor(text: string) {
    this.text = text
    this.families = parse(text)
  }

  /** The value of the sample with exactly these labels; 0 when there is none, as a series that has not begun. */
  value(name: string, labels: Record<string, string> = {}): number {
    return Number(this.#sample(name, labels)?.value ?? 0)
  }

  /** How many values the histogram with exactly these labels has counted. */
  countOf(name: string, labels: Record<string, string> = {}): number {
    return Number(this.#sample(name, labels)?.count ?? 0)
  }

  /** Names of series, as a query may use them. */
  seriesNames(): Set<string> {
    return new Set(
      this.families.flatMap(({ name, type }) =>
        type === 'HISTOGRAM' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
      ),
    )
  }

  /** Labels that series of a name carry, `le` of histograms among them. */
  labelsOf(seriesName: string): Set<string> {
    const family = this.families.find(({ name }) => seriesName === name || isPartOf(seriesName, name))
    const own = (family?.metrics ?? []).flatMap(({ labels }) => Object.keys(labels ?? {}))
    return new Set([...own, ...(family?.type === 'HISTOGRAM' ? ['le'] : [])])
  }

  #sample(name: string, labels: Record<string, string>) {
    const wanted = sorted(labels)
    const family = this.families.find((candidate) => candidate.name === name)
    return family?.metrics.find((sample) => sorted(sample.labels ?? {}) === wanted)
  }
}

export async function scrape(baseUrl: string): Promise<Scrape> {
  const response = await fetch(`${baseUrl}/metrics`)
  if (response.status !== 200) throw new Error(`Cannot scrape: /metrics answered ${response.status}`)
  return new Scrape(await response.text())
}

function isPartOf(seriesName: string, name: string): boolean {
  return ['_bucket', '_sum', '_count'].some((part) => seriesName === name + part)
}

function sorted(labels: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)))
}
