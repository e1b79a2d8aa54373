import process from 'node:process'

/**
 * Node's `http`, for whoever needs more than its types. `import ... from 'node:http'` reads every
 * export of it to make names of them, `WebSocket` among them, and that one loads all of Node's fetch
 * in each thread.
 */
export const { Agent, createServer, request, STATUS_CODES } = process.getBuiltinModule('node:http')
