@NullMarked
package io.jrun.agent.files;

import org.jspecify.annotations.NullMarked;
