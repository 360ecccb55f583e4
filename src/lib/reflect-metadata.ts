/**
 * What the package of passkeys needs before it is loaded. It imports this too, but first only in its source: in the binary, a CommonJS module
 * that a module with `import()` imports is run after the ES modules beside it (Bun 1.4.5), unless an ES module of its own imports it.
 */
import 'reflect-metadata'
