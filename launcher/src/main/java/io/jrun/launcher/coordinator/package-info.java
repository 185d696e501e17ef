/**
 * Runs a job: opens its agents, starts rounds of workers, receives their ends, and decides. The decisions are a pure
 * function, {@code JobMachine}; entry class: {@code Coordinator}.
 */
@NullMarked
package io.jrun.launcher.coordinator;

import org.jspecify.annotations.NullMarked;
