import type { components } from './portal.gen.ts'

/** JSON shapes of the portal: `Schema<'Booking'>`. */
export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name]
