import { readFileSync } from 'node:fs'
import { DockerfileParser, type Instruction } from 'dockerfile-ast'

/** One line of a Dockerfile: `RUN`, and what follows it without `--flags`. `list`: the strings of its exec form, empty in the shell form. */
export interface Step {
  readonly keyword: string
  readonly text: string
  readonly list: readonly string[]
}

/** `base`: the image it starts from. */
export interface Stage {
  readonly base: string
  readonly name: string | null
  readonly steps: readonly Step[]
}

/** Reads what the tests carry out: `FROM` in the form `FROM <image> [AS <name>]`, exec forms as JSON. */
export function readStages(path: string): readonly Stage[] {
  const stages: { base: string; name: string | null; steps: Step[] }[] = []
  for (const instruction of DockerfileParser.parse(readFileSync(path, 'utf8')).getInstructions()) {
    const step = stepOf(instruction)
    if (step.keyword === 'FROM') {
      const [base = '', , name = null] = step.text.split(/\s+/)
      stages.push({ base, name, steps: [] })
    } else stages.at(-1)?.steps.push(step)
  }
  return stages
}

function stepOf(instruction: Instruction): Step {
  const text = instruction.getArgumentsContent() ?? ''
  const list = /\[.*\]$/s.exec(text)?.[0]
  return {
    keyword: instruction.getKeyword().toUpperCase(),
    text,
    list: list === undefined ? [] : (JSON.parse(list) as string[]),
  }
}

/** The values of `ENV` in a stage. */
export function environmentOf(stage: Stage): Record<string, string> {
  return Object.fromEntries(
    stage.steps
      .filter(({ keyword }) => keyword === 'ENV')
      .flatMap(({ text }) => [...text.matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value])),
  )
}

/** The last step of a kind in a stage, which is the one that counts. */
export function lastStep(stage: Stage, keyword: string): Step | null {
  return stage.steps.findLast((step) => step.keyword === keyword) ?? null
}
