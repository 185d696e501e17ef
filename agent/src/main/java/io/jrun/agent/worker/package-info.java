/**
 * One worker: its command line and environment as pure functions, its process, and the facts about its end. Entry
 * class: {@code WorkerProcess}.
 */
@NullMarked
package io.jrun.agent.worker;

import org.jspecify.annotations.NullMarked;
