import { readQuery } from './promql.ts'

type Labels = Readonly<Record<string, string>>

interface Sample {
  readonly name: string
  readonly labels: Labels
  readonly value: number
}

interface Family {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly samples: readonly Sample[]
}

/**
 * A metrics page, read strictly: a family is its `HELP`, its `TYPE` and then its samples, and a sample is a selector that Prometheus's
 * own grammar reads, a space, and a number.
 */
export class Scrape {
  readonly text: string
  readonly families: readonly Family[]

  /** @throws Error when the text is not as the format asks for */
  constructor(text: string) {
    if (!text.endsWith('\n')) throw new Error('Cannot read a metrics page: its last line does not end')
    this.text = text
    this.families = familiesIn(text)
  }

  /** The value of the sample with exactly these labels; 0 when there is none, as a series that has not begun. */
  value(name: string, labels: Labels = {}): number {
    return this.#find(name, labels)?.value ?? 0
  }

  /** How many values the histogram with exactly these labels has counted. */
  countOf(name: string, labels: Labels = {}): number {
    return this.value(`${name}_count`, labels)
  }

  /** As a query may use them. */
  seriesNames(): Set<string> {
    return new Set(this.#samples().map(({ name }) => name))
  }

  /** Values that series of this name have under a label. */
  labelValues(name: string, label: string): Set<string> {
    return new Set(this.samplesOf(name).flatMap(({ labels }) => labels[label] ?? []))
  }

  samplesOf(name: string): readonly Sample[] {
    return this.#samples().filter((sample) => sample.name === name)
  }

  #samples(): readonly Sample[] {
    return this.families.flatMap(({ samples }) => samples)
  }

  #find(name: string, labels: Labels): Sample | undefined {
    const wanted = sorted(labels)
    return this.samplesOf(name).find((sample) => sorted(sample.labels) === wanted)
  }
}

export async function scrape(baseUrl: string): Promise<Scrape> {
  const response = await fetch(`${baseUrl}/metrics`)
  if (response.status !== 200) throw new Error(`Cannot scrape: /metrics answered ${response.status}`)
  return new Scrape(await response.text())
}

const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  counter: [''],
  gauge: [''],
  histogram: ['_bucket', '_sum', '_count'],
}

function familiesIn(text: string): Family[] {
  const families: (Omit<Family, 'samples'> & { type: string; samples: Sample[] })[] = []
  const seen = new Set<string>()
  for (const line of text.split('\n').filter((line) => line !== '')) {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\w+) (.+)$/.exec(line) ?? []
    const family = families.at(-1)
    if (kind === 'HELP') families.push({ name, help: rest, type: '', samples: [] })
    else if (kind === 'TYPE' && family?.name === name && rest in SUFFIXES) family.type = rest
    else {
      const sample = sampleIn(line)
      const isOfFamily = SUFFIXES[family?.type ?? '']?.some((suffix) => family?.name + suffix === sample.name)
      const key = sample.name + sorted(sample.labels)
      if (family === undefined || isOfFamily !== true || seen.has(key)) throw new Error(`Cannot place the line ${line}`)
      seen.add(key)
      family.samples.push(sample)
    }
  }
  return families
}

function sampleIn(line: string): Sample {
  const end = line.lastIndexOf(' ')
  const { errors, selectors } = readQuery(line.slice(0, end))
  const [selector, ...others] = selectors
  const value = Number(line.slice(end + 1))
  if (errors.length > 0 || selector === undefined || others.length > 0 || Number.isNaN(value))
    throw new Error(`Cannot read the line ${line}`)
  const labels = Object.fromEntries(selector.matchers.map((matcher) => [matcher.label, matcher.value]))
  return { name: selector.name, labels, value }
}

function sorted(labels: Labels): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)))
}
