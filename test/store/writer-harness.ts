import { serveWriter } from '#store/sqlite/serve-writer.ts'
import { RAISE } from '#test/store/conformance-procedure.ts'

/** The thread that writes, as the tests of the store begin it. */
serveWriter([RAISE])
