import { partnerDocument } from '../../../src/api/partner/partner-surface.ts'

/*
 * Writes the types of both clients from the OpenAPI document: `bun run clients:types`. A test compares the committed files.
 */

interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean
  readonly format?: string
  readonly description?: string
}

interface Media {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>
}

interface OperationObject {
  readonly operationId: string
  readonly parameters?: readonly { name?: string; in?: string; required?: boolean; schema?: Schema; $ref?: string }[]
  readonly requestBody?: Media
  readonly responses: Readonly<Record<string, Media>>
}

export interface PartnerDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

const JSON_TYPE = 'application/json'
const TEXT_TYPE = 'text/plain'
const nameOf = (ref: string) => ref.slice(ref.lastIndexOf('/') + 1)
const titled = (id: string) => id[0]?.toUpperCase() + id.slice(1)

/** What is sent and answered, as named schemas: `CreateBookingBody`, `ListBookingsQuery`, `ListBookingsAnswer`. */
function exchanged({ paths }: PartnerDocument): [name: string, schema: Schema, isSent: boolean][] {
  return Object.values(paths).flatMap((methods) =>
    Object.values(methods).flatMap((operation): [string, Schema, boolean][] => {
      const name = titled(operation.operationId)
      const query = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query')
      const body = operation.requestBody?.content?.[JSON_TYPE]?.schema
      const answer = Object.entries(operation.responses).find(([status]) => status.startsWith('2'))?.[1]
      const answered = answer?.content?.[JSON_TYPE]?.schema ?? answer?.content?.[TEXT_TYPE]?.schema
      return [
        ...(query.length > 0 ? [[`${name}Query`, objectOf(query), true] as [string, Schema, boolean]] : []),
        ...(body === undefined ? [] : [[`${name}Body`, body, true] as [string, Schema, boolean]]),
        ...(answered?.properties === undefined && answered?.type !== 'string'
          ? []
          : [[`${name}Answer`, answered, false] as [string, Schema, boolean]]),
      ]
    }),
  )
}

function objectOf(parameters: readonly { name?: string; required?: boolean; schema?: Schema }[]): Schema {
  return {
    type: 'object',
    required: parameters.filter(({ required }) => required === true).map(({ name = '' }) => name),
    properties: Object.fromEntries(parameters.map(({ name = '', schema = {} }) => [name, schema])),
  }
}

export function typescriptTypes(document: PartnerDocument): string {
  const named = Object.entries(document.components.schemas).map(([name, schema]): [string, Schema, boolean] => [
    name,
    schema,
    false,
  ])
  const lines = [...named, ...exchanged(document)].map(([name, schema, isSent]) => {
    const comment = schema.description === undefined ? '' : `/** ${schema.description} */\n`
    const type = inTypescript(schema, isSent, '')
    return `${comment}export ${schema.type === 'string' ? `type ${name} =` : `interface ${name}`} ${type}\n`
  })
  const head = `// Made from the OpenAPI document by test/clients/support/make-types.ts. Do not edit.\nimport type { DateText, IsoDate } from './dates.ts'\n`
  return [head, ...lines].join('\n')
}

function inTypescript(schema: Schema, isSent: boolean, indent: string): string {
  const of = (inner: Schema) => inTypescript(inner, isSent, indent)
  if (schema.$ref !== undefined) return nameOf(schema.$ref)
  if (schema.const !== undefined) return quoted(schema.const)
  if (schema.enum !== undefined) return schema.enum.map(quoted).join(' | ')
  const parts = schema.anyOf ?? schema.oneOf
  if (parts !== undefined) return [...new Set(parts.map(of))].join(' | ')
  switch (schema.type) {
    case 'array': {
      const item = of(schema.items ?? {})
      return item.includes(' | ') ? `(${item})[]` : `${item}[]`
    }
    case 'object': {
      const inner = `${indent}  `
      const members = Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
        const isRequired = schema.required?.includes(name) === true
        const type = inTypescript(member, isSent, inner)
        return [
          ...(member.description === undefined ? [] : [`${inner}/** ${member.description} */`]),
          `${inner}${/^\w+$/.test(name) ? name : `'${name}'`}${isRequired ? '' : '?'}: ${type}${isRequired || !isSent ? '' : ' | undefined'}`,
        ]
      })
      if (schema.additionalProperties === true) members.push(`${inner}[member: string]: unknown`)
      return members.length === 0 ? 'Record<string, unknown>' : `{\n${members.join('\n')}\n${indent}}`
    }
    case 'integer':
    case 'number':
      return 'number'
    case 'string':
      return schema.format === 'date' ? (isSent ? 'DateText' : 'IsoDate') : 'string'
    case 'boolean':
    case 'null':
      return schema.type
    default:
      return 'unknown'
  }
}

function quoted(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value)
}

export function pythonTypes(document: PartnerDocument): string {
  const classes: string[] = []
  const made = new Set<string>()
  // A class per object, inner ones first, because names are resolved when the module is loaded.
  const add = (name: string, schema: Schema, isSent: boolean): void => {
    if (made.has(name)) return
    made.add(name)
    if (schema.type === 'string') {
      classes.push(`${name} = str`)
      return
    }
    const members = Object.entries(schema.properties ?? {}).map(([member, inner]): [string, string, boolean] => [
      member,
      inPython(inner, name + titled(member), { isSent, add, document }),
      schema.required?.includes(member) === true,
    ])
    const block = (part: typeof members) => `{${part.map(([member, type]) => `'${member}': '${type}'`).join(', ')}}`
    const required = members.filter(([, , isRequired]) => isRequired)
    const optional = members.filter(([, , isRequired]) => !isRequired)
    if (optional.length === 0) classes.push(`${name} = TypedDict('${name}', ${block(required)})`)
    else if (required.length === 0) classes.push(`${name} = TypedDict('${name}', ${block(optional)}, total=False)`)
    else
      classes.push(
        `_${name} = TypedDict('_${name}', ${block(required)})`,
        `_${name}Optional = TypedDict('_${name}Optional', ${block(optional)}, total=False)`,
        `class ${name}(_${name}, _${name}Optional):\n    pass\n`,
      )
  }
  for (const [name, schema] of Object.entries(document.components.schemas)) add(name, schema, false)
  for (const [name, schema, isSent] of exchanged(document))
    if (!(isSent && name.endsWith('Query'))) add(name, schema, isSent)
  const head = [
    '# Made from the OpenAPI document by test/clients/support/make-types.ts. Do not edit.',
    'from typing import Any, Dict, List, Literal, NewType, TypedDict, Union',
    '',
    '# A calendar date, `YYYY-MM-DD`, that the service sent. It has no time and no time zone.',
    "IsoDate = NewType('IsoDate', str)",
  ]
  return `${[...head, ...classes].join('\n')}\n`
}

interface InPython {
  readonly isSent: boolean
  readonly add: (name: string, schema: Schema, isSent: boolean) => void
  readonly document: PartnerDocument
}

function inPython(schema: Schema, name: string, context: InPython): string {
  const { isSent, add, document } = context
  const of = (inner: Schema) => inPython(inner, name, context)
  if (schema.$ref !== undefined) {
    const ref = nameOf(schema.$ref)
    add(ref, document.components.schemas[ref] ?? {}, false)
    return ref
  }
  if (schema.const !== undefined || schema.enum !== undefined)
    return `Literal[${(schema.enum ?? [schema.const]).map((value) => JSON.stringify(value)).join(', ')}]`
  const parts = schema.anyOf ?? schema.oneOf
  if (parts !== undefined) return `Union[${[...new Set(parts.map(of))].join(', ')}]`
  switch (schema.type) {
    case 'array':
      return `List[${of(schema.items ?? {})}]`
    case 'object':
      if (schema.properties === undefined || schema.additionalProperties === true) return 'Dict[str, Any]'
      add(name, schema, isSent)
      return name
    case 'integer':
      return 'int'
    case 'number':
      return 'float'
    case 'string':
      return schema.format === 'date' && !isSent ? 'IsoDate' : 'str'
    case 'boolean':
      return 'bool'
    case 'null':
      return 'None'
    default:
      return 'Any'
  }
}

/** Where the types are, from the root of the project. */
export const TYPES = {
  'clients/typescript/src/types.ts': typescriptTypes,
  'clients/python/nightledger/types.py': pythonTypes,
} as const

if (import.meta.main)
  for (const [path, make] of Object.entries(TYPES))
    await Bun.write(`${import.meta.dir}/../../../${path}`, make(JSON.parse(await partnerDocument())))
