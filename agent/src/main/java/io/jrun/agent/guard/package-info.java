/** The watcher that outlives the agent by a moment. Entry: {@link io.jrun.agent.guard.Guard}. */
@NullMarked
package io.jrun.agent.guard;

import org.jspecify.annotations.NullMarked;
