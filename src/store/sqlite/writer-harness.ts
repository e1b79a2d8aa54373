import { RAISE } from '../conformance-procedure.ts'
import { serveWriter } from './serve-writer.ts'

/** The thread that writes, as the tests of the store begin it. */
serveWriter([RAISE])
