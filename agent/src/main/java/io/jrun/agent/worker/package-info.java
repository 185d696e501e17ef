/**
 * One worker: its command line and environment as pure functions, its process, and what is known of its end. Entry:
 * {@link io.jrun.agent.worker.WorkerProcess}.
 */
@NullMarked
package io.jrun.agent.worker;

import org.jspecify.annotations.NullMarked;
