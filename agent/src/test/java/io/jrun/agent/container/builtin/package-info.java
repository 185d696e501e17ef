/** Tests of this package. */
@NullMarked
package io.jrun.agent.container.builtin;

import org.jspecify.annotations.NullMarked;
