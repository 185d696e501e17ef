/**
 * Hugging Face's tokenizers, by the native library in {@code ai.djl.huggingface:tokenizers}. Only this package uses
 * DJL. Its jars lie in {@code lib/tokenizers} and are not on the class path of workers. The library runs in processes
 * of its own, because it may end its process. Entry class: {@code HuggingFaceProvider}.
 */
@NullMarked
package io.jrun.tokenizers;

import org.jspecify.annotations.NullMarked;
