import { type TArray, type TSchema, Type } from '@sinclair/typebox'

/** See docs/contract.md#limits. */
export const PAGE_SIZE_MAX = 200
const PAGE_SIZE_DEFAULT = 100

const pageSize = (description: string) => Type.Integer({ minimum: 1, maximum: PAGE_SIZE_MAX, description })

/** The query parameters of every list (docs/contract.md#conventions). */
export const PAGE_QUERY = {
  page: Type.Optional(
    Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, default: 1, description: '1-based page number.' }),
  ),
  pageSize: Type.Optional({ ...pageSize('Items per page.'), default: PAGE_SIZE_DEFAULT }),
}

/** The older alias, on bookings only; `pageSize` wins (docs/contract.md#compatibility-facts; docs/design.md#order-of-checks). */
export const LIMIT_QUERY = { limit: Type.Optional(pageSize('Older alias for pageSize. pageSize takes precedence.')) }

export interface Page {
  readonly page: number
  readonly pageSize: number
  /** Rows before the page. At most what a bigint holds. */
  readonly offset: number
  /** The same as `pageSize`, by the name that the ports of lists have for it. */
  readonly limit: number
}

export function pageOf(query: { page?: number; pageSize?: number; limit?: number }): Page {
  const page = query.page ?? 1
  const size = query.pageSize ?? query.limit ?? PAGE_SIZE_DEFAULT
  // Far beyond any list; a larger number would not be exact.
  return { page, pageSize: size, limit: size, offset: Math.min((page - 1) * size, Number.MAX_SAFE_INTEGER) }
}

/** The page of a list that is in memory. */
export function sliceOf<T>(all: readonly T[], { offset, limit }: Page): T[] {
  return all.slice(offset, offset + limit)
}

/** The members that come with a list (docs/contract.md#conventions). */
export function pageMembers({ page, pageSize }: Page, totalItems: number) {
  return { page, pageSize, totalItems, pageCount: Math.ceil(totalItems / pageSize) }
}

/** The schema of a page: the collection keeps its own name. */
export function pageSchema<N extends string, E extends TSchema>(name: N, element: E) {
  return Type.Object({
    // TypeScript takes a computed name for any name.
    ...({ [name]: Type.Array(element, { maxItems: PAGE_SIZE_MAX }) } as { [K in N]: TArray<E> }),
    page: Type.Integer({ minimum: 1 }),
    pageSize: Type.Integer({ minimum: 1, maximum: PAGE_SIZE_MAX }),
    totalItems: Type.Integer({ minimum: 0 }),
    pageCount: Type.Integer({ minimum: 0 }),
  })
}
