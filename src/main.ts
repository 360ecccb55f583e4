/** The process: what its arguments ask for. */
import { serve } from './serve.ts'

await serve(process.env)
