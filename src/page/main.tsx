/** The page's entry: bundled by src/api/page/. */
import './styles/tokens.css'
import './styles/base.css'
import './design/icon.css'
import { render } from 'preact'
import { App } from './app.tsx'
import './styles/theme.ts'

const root = document.createElement('div')
root.className = 'root'
document.body.replaceChildren(root)
render(<App />, root)
