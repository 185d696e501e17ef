/**
 * One worker: its command line and environment as pure functions, its process, and what is known of its end. Entry:
 * {@code WorkerProcess}.
 */
@NullMarked
package io.jrun.agent.worker;

import org.jspecify.annotations.NullMarked;
