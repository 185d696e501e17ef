/** The watcher that outlives the agent by a moment. Entry: {@code Guard}. */
@NullMarked
package io.jrun.agent.guard;

import org.jspecify.annotations.NullMarked;
