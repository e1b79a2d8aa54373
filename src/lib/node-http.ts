import process from 'node:process'

/** An import reads every export, and `WebSocket` loads all of fetch. */
export const { Agent, createServer, request, STATUS_CODES } = process.getBuiltinModule('node:http')
