import { Type } from '@sinclair/typebox'
import { PAGE_QUERY, PAGE_SIZE_MAX, type Page, pageOf } from '../../json/page.ts'

/** A quarter of REST's: what a tool returns is read by a model, whose context is small. */
const TOOL_PAGE_SIZE_DEFAULT = 25

/** The paging arguments of the listing tools. */
export const PAGE_ARGUMENTS = {
  page: PAGE_QUERY.page,
  pageSize: Type.Optional({
    ...PAGE_QUERY.pageSize,
    default: TOOL_PAGE_SIZE_DEFAULT,
    description: `Items per page, at most ${PAGE_SIZE_MAX}.`,
  }),
}

export function toolPageOf(args: { page?: number; pageSize?: number }): Page {
  return pageOf({ pageSize: TOOL_PAGE_SIZE_DEFAULT, ...args })
}
