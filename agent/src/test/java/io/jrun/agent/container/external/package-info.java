/** Tests of this package. */
@NullMarked
package io.jrun.agent.container.external;

import org.jspecify.annotations.NullMarked;
