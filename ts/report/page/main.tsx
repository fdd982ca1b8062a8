/** The page of a report. */
import { render } from 'preact'
import { App } from './app.jsx'
import { openSource } from './page-source.js'

const app = document.getElementById('app') as HTMLElement
app.replaceChildren()
openSource().then(
  (source) => render(<App source={source} />, app),
  (error: unknown) => render(<p role="alert">This report cannot be read: {String(error)}</p>, app),
)
