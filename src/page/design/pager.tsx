import { count } from '../format/count.ts'
import { IconButton } from './button.tsx'

/** Steps through the pages of a list. Draws nothing when there is only one. */
export function Pager({
  page,
  pageSize,
  totalItems,
  onPage,
}: {
  /** From 1. */
  page: number
  pageSize: number
  totalItems: number
  onPage: (page: number) => void
}) {
  const pages = Math.max(1, Math.ceil(totalItems / pageSize))
  if (pages === 1) return null
  const first = (page - 1) * pageSize + 1
  return (
    <nav class="pager" aria-label="Pages">
      <span class="numeric">
        {count(first)}–{count(Math.min(totalItems, first + pageSize - 1))} of {count(totalItems)}
      </span>
      <span class="pager-buttons">
        <IconButton icon="left" label="Previous page" disabled={page <= 1} onClick={() => onPage(page - 1)} />
        <IconButton icon="right" label="Next page" disabled={page >= pages} onClick={() => onPage(page + 1)} />
      </span>
    </nav>
  )
}
