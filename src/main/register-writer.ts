import { STORE_EVENTS } from '#indexer/events/store-events.ts'
import { serveWriter } from '#store/sqlite/serve-writer.ts'

/** The thread that writes the register where it is SQLite. */
serveWriter([STORE_EVENTS])
