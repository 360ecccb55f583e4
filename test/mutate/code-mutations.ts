import { parse } from '@babel/parser'
import { lineAt, type Mutation, type MutationKind } from './mutation.ts'
import { sqlMutations } from './sql-mutations.ts'

/** What the tool needs of a node of Babel's syntax tree; the other members are children or plain values. */
type Node = { readonly type: string; readonly start: number; readonly end: number; readonly [member: string]: unknown }

const BOUNDS: Record<string, string | undefined> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' }
const OPERATORS: Record<string, string | undefined> = {
  '===': '!==',
  '!==': '===',
  '&&': '||',
  '||': '&&',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  '+=': '-=',
  '-=': '+=',
  '++': '--',
  '--': '++',
}
/** Calls whose loss no test of a correct program can notice: they only guard against bugs, or write a log line. */
const UNNOTICEABLE_CALL = /^(assert\w*|unreachable)$|(^|[.#])(log|logger)(\.|$)/

/**
 * Every mutation of a TypeScript file. SQL in templates tagged `sql` is mutated like the files of `sql/`.
 * @param file path that the mutations name
 */
export function codeMutations(file: string, text: string): Mutation[] {
  const found: Mutation[] = []
  const add = (kind: MutationKind, { start, end }: { start: number; end: number }, replacement: string) =>
    found.push({ file, line: lineAt(text, start), start, end, replacement, kind })
  const textOf = ({ start, end }: Node) => text.slice(start, end)

  const visit = (node: Node, parent: Node | null): void => {
    // Types and declarations have no effect at run time.
    if (node.type.startsWith('TS') && !/^TS(As|NonNull|Satisfies)/.test(node.type)) return
    switch (node.type) {
      case 'IfStatement':
      case 'ConditionalExpression':
      case 'WhileStatement': {
        const test = node['test'] as Node
        add('condition', test, `!(${textOf(test)})`)
        break
      }
      case 'BinaryExpression':
      case 'LogicalExpression':
      case 'AssignmentExpression': {
        const operator = node['operator'] as string
        const [left, right] = [node['left'] as Node, node['right'] as Node]
        if (operator === '+' && [left, right].some(({ type }) => /^(StringLiteral|TemplateLiteral)$/.test(type))) break
        // That of a whole condition is its negation, which is there already.
        if (/^[!=]==$/.test(operator) && parent?.['test'] === node) break
        const bound = BOUNDS[operator]
        const other = bound ?? OPERATORS[operator]
        if (other !== undefined) {
          const start = text.indexOf(operator, left.end)
          add(bound === undefined ? 'operator' : 'bound', { start, end: start + operator.length }, other)
        }
        for (const side of [left, right])
          if (side.type === 'NumericLiteral' && /^[\d_]+$/.test(textOf(side)) && node.type === 'BinaryExpression')
            add('bound', side, String(Number(textOf(side).replaceAll('_', '')) + 1))
        break
      }
      case 'UpdateExpression': {
        const operator = node['operator'] as string
        const argument = node['argument'] as Node
        const start = node['prefix'] === true ? node.start : argument.end
        add('operator', { start, end: start + 2 }, OPERATORS[operator] ?? operator)
        break
      }
      case 'ExpressionStatement': {
        const expression = node['expression'] as Node
        const call = expression.type === 'AwaitExpression' ? (expression['argument'] as Node) : expression
        const callee = call.type.endsWith('CallExpression') ? textOf(call['callee'] as Node) : ''
        if (callee === 'super' || UNNOTICEABLE_CALL.test(callee)) return
        add('statement', node, '{}')
        break
      }
      case 'ThrowStatement':
        add('statement', node, '{}')
        break
      case 'AwaitExpression': {
        const argument = node['argument'] as Node
        // Whoever awaits the function awaits what it returns, too.
        if (parent?.type !== 'ReturnStatement' && parent?.type !== 'ArrowFunctionExpression')
          add('await', { start: node.start, end: argument.start }, '')
        break
      }
      case 'TaggedTemplateExpression': {
        if (!/(^|[.#])sql$/.test(textOf(node['tag'] as Node))) break
        for (const quasi of (node['quasi'] as Node)['quasis'] as Node[])
          for (const { kind, start, end, replacement } of sqlMutations(file, textOf(quasi)))
            add(kind, { start: quasi.start + start, end: quasi.start + end }, replacement)
        break
      }
    }
    for (const child of childrenOf(node)) visit(child, node)
  }
  const { program } = parse(text, { sourceType: 'module', plugins: ['typescript', 'explicitResourceManagement'] })
  visit(program as unknown as Node, null)
  return found
}

function childrenOf(node: Node): Node[] {
  const skipped = new Set(['loc', 'range', 'extra', 'typeAnnotation', 'typeParameters', 'returnType'])
  return Object.entries(node)
    .filter(([member]) => !skipped.has(member) && !/comments$/i.test(member))
    .flatMap(([, value]) => value)
    .filter((value): value is Node => typeof value === 'object' && value !== null && 'type' in value)
}
