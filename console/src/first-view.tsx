import { renderToString } from 'preact-render-to-string'
import { FileContext } from './parts/file-context.ts'
import { Masthead } from './parts/masthead.tsx'
import { Headline } from './register/headline.tsx'
import type { Snapshot } from './state/types.ts'

/** What the server draws of a page, to be seen before its scripts arrive; `current` is the first part of the path. */
export function drawFirstView(snapshot: Snapshot, current: string): string {
  const { figures, service } = snapshot
  return renderToString(
    <FileContext.Provider value={snapshot}>
      <div class="page">
        <Masthead snapshot={snapshot} current={current} />
        <main id="main">
          {current === '' && figures !== null && <Headline figures={figures} service={service} />}
        </main>
      </div>
    </FileContext.Provider>,
  )
}
