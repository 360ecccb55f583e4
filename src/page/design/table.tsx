/** Lists: their rows and columns, their pages, and what they are searched for. */
import './table.css'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { count } from '../format/numbers.ts'
import { useIsPhone } from '../lib/hooks.ts'
import { setQuery } from '../route/router.ts'
import { IconButton } from './button.tsx'
import { Icon } from './icon.tsx'
import { TextInput } from './inputs.tsx'

export interface Column<Row> {
  readonly key: string
  /** Also names the value on a phone. */
  readonly head: string
  readonly cell: (row: Row) => ComponentChildren
  /** `end`: numbers and money, in tabular figures. */
  readonly align?: 'start' | 'end'
  readonly isSortable?: boolean
  /** Left out on a phone. */
  readonly isMinor?: boolean
  /** Buttons or a menu: last, without a visible head. */
  readonly isActions?: boolean
}

interface Sort {
  readonly key: string
  readonly direction: 'asc' | 'desc'
}

interface TableProps<Row> {
  /** Says what the table lists; read out, not shown. */
  caption: string
  /** The first column is what a row is known by. */
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  rowKey: (row: Row) => string
  /** Makes a whole row a link: its address, as `hashOf` gives it. */
  rowHref?: (row: Row) => string
  sort?: Sort | undefined
  onSort?: (sort: Sort) => void
  /** Rows to be drawn as no longer in force. */
  isFaded?: (row: Row) => boolean
}

/** Rows and columns; on a phone each row is a card. */
export function Table<Row>(props: TableProps<Row>) {
  return useIsPhone() ? <Cards {...props} /> : <Grid {...props} />
}

function Grid<Row>({ caption, columns, rows, rowKey, rowHref, sort, onSort, isFaded }: TableProps<Row>) {
  return (
    <div class="table-frame">
      <table class="table">
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.key} column={column} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)} class={rowClass(rowHref !== undefined, isFaded?.(row))}>
              {columns.map((column, index) => (
                <td key={column.key} class={cellClass(column)}>
                  {index === 0 && rowHref !== undefined ? (
                    <a class="row-link" href={rowHref(row)}>
                      {column.cell(row)}
                    </a>
                  ) : (
                    column.cell(row)
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Head<Row>({
  column,
  sort,
  onSort,
}: {
  column: Column<Row>
  sort: Sort | undefined
  onSort: ((sort: Sort) => void) | undefined
}) {
  const { key, head, isSortable = false, isActions = false } = column
  const direction = sort?.key === key ? sort.direction : null
  if (!isSortable || onSort === undefined) {
    return (
      <th scope="col" class={cellClass(column)}>
        {isActions ? <span class="visually-hidden">{head}</span> : head}
      </th>
    )
  }
  const sorted = direction === null ? 'none' : direction === 'asc' ? 'ascending' : 'descending'
  return (
    <th scope="col" class={cellClass(column)} aria-sort={sorted}>
      <button
        type="button"
        class="sort-button"
        onClick={() => onSort({ key, direction: direction === 'asc' ? 'desc' : 'asc' })}
      >
        {head}
        <span class={direction === null ? 'sort-mark sort-mark-off' : 'sort-mark'}>
          <Icon name={direction === 'desc' ? 'down' : 'up'} size={12} />
        </span>
      </button>
    </th>
  )
}

function Cards<Row>({ caption, columns, rows, rowKey, rowHref, isFaded }: TableProps<Row>) {
  const [first, ...others] = columns
  const actions = others.filter(({ isActions }) => isActions === true)
  const shown = others.filter(({ isActions, isMinor }) => isActions !== true && isMinor !== true)
  return (
    <ul class="cards" aria-label={caption}>
      {rows.map((row) => (
        <li key={rowKey(row)} class={rowClass(rowHref !== undefined, isFaded?.(row))}>
          <div class="card-head">
            <div class="card-title">
              {rowHref === undefined ? (
                first?.cell(row)
              ) : (
                <a class="row-link" href={rowHref(row)}>
                  {first?.cell(row)}
                </a>
              )}
            </div>
            {actions.map((column) => (
              <div key={column.key} class="cell-actions">
                {column.cell(row)}
              </div>
            ))}
          </div>
          <dl>
            {shown.map((column) => (
              <div key={column.key}>
                <dt>{column.head}</dt>
                <dd class={column.align === 'end' ? 'numeric' : undefined}>{column.cell(row)}</dd>
              </div>
            ))}
          </dl>
        </li>
      ))}
    </ul>
  )
}

function rowClass(isLink: boolean, isFaded: boolean | undefined): string {
  return [isLink ? 'row-linked' : 'row', isFaded === true ? 'row-faded' : ''].join(' ').trim()
}

function cellClass<Row>({ align, isActions }: Column<Row>): string | undefined {
  if (isActions === true) return 'cell-actions'
  return align === 'end' ? 'cell-end numeric' : undefined
}

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

/** Between the last letter and the search. */
const TYPING_MS = 250

/** What a list is searched for, kept in the address as `search`. A new search shows the first page. */
export function SearchInput({ search, placeholder }: { search: string; placeholder: string }) {
  const [typed, setTyped] = useState(search)
  const sent = useRef(search)
  useEffect(() => {
    // The address has changed otherwise: cleared, or gone back to.
    if (search === sent.current) return
    sent.current = search
    setTyped(search)
  }, [search])
  useEffect(() => {
    const text = typed.trim()
    if (text === sent.current) return
    const timer = setTimeout(() => {
      sent.current = text
      setQuery({ search: text === '' ? null : text, page: null }, { replace: true })
    }, TYPING_MS)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <TextInput
      label="Search"
      type="search"
      placeholder={placeholder}
      value={typed}
      onChange={setTyped}
      autocomplete="off"
      spellcheck={false}
    />
  )
}
