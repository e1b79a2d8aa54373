import './fonts.css'
import './tokens.css'
import './style.css'
import { render } from 'preact'
import { App } from './app.tsx'
import { startTheme } from './parts/theme.ts'

startTheme()
const place = document.getElementById('page')
// What the server drew is seen until now; the page draws the same again.
place?.replaceChildren()
if (place !== null) render(<App />, place)
