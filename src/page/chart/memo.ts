import { Component } from 'preact'

/** A component that is drawn again only when one of its properties is another value. */
export abstract class Memo<Props extends object> extends Component<Props> {
  override shouldComponentUpdate(next: Props): boolean {
    const now = this.props as Record<string, unknown>
    const then = next as Record<string, unknown>
    return (
      Object.keys(then).some((key) => now[key] !== then[key]) || Object.keys(now).length !== Object.keys(then).length
    )
  }
}
