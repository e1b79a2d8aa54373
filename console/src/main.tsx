import './fonts.css'
import './tokens.css'
import './style.css'
import { render } from 'preact'
import { App } from './app.tsx'
import { startTheme } from './parts/theme.ts'

startTheme()
const place = document.getElementById('page')
if (place !== null) render(<App />, place)
