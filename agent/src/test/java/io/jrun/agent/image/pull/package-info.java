@NullMarked
package io.jrun.agent.image.pull;

import org.jspecify.annotations.NullMarked;
