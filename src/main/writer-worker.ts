import { STORE_EVENTS } from '#chains/indexer/events/store-events.ts'
import { serveWriter } from '#store/sqlite/serve-writer.ts'

serveWriter([STORE_EVENTS])
