// Bun embeds these files: `import text from './x.sql' with { type: 'text' }`.
declare module '*.sql' {
  const text: string
  export default text
}
