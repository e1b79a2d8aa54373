import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** `data` is what the page carries inline. */
type Draw = (data: object, current: string) => string

/** What the build made of `console/src/first-view.tsx`: the HTML that is seen before scripts arrive. */
export async function loadFirstView(folder: string): Promise<Draw> {
  const module = await import(pathToFileURL(join(folder, 'first-view.js')).href)
  return module.drawFirstView
}
