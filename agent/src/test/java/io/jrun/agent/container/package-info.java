/** Tests of this package. */
@NullMarked
package io.jrun.agent.container;

import org.jspecify.annotations.NullMarked;
