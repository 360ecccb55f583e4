/** The program with its points of failure. */
import './failpoints.ts'
import '../../src/main.ts'
