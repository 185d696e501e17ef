package io.jrun.agent.container;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ImageReferenceTest {
    private static final String DIGEST = "sha256:" + "0123456789abcdef".repeat(4);

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/images/a.sqsh",
                "./a.sqsh",
                "a.tar",
                "../root",
                "jdk.sqsh",
                "images/jdk.squashfs",
                "app.tar.gz",
                "app.tgz",
                "/a b:c#d@e"
            })
    void paths(String text) {
        assertThat(ImageReference.parse(text)).isEqualTo(new ImageReference.Local(text));
    }

    @ParameterizedTest
    @CsvSource({
        "ubuntu, registry-1.docker.io#library/ubuntu:latest",
        "ubuntu:24.04, registry-1.docker.io#library/ubuntu:24.04",
        "docker://alpine, registry-1.docker.io#library/alpine:latest",
        "org/app:v1, registry-1.docker.io#org/app:v1",
        "docker.io/org/app, registry-1.docker.io#org/app:latest",
        "nvcr.io#nvidia/pytorch:24.01-py3, nvcr.io#nvidia/pytorch:24.01-py3",
        "nvcr.io\\#nvidia/pytorch:24.01-py3, nvcr.io#nvidia/pytorch:24.01-py3",
        "nvcr.io/nvidia/pytorch:24.01-py3, nvcr.io#nvidia/pytorch:24.01-py3",
        "$oauthtoken@nvcr.io#nvidia/pytorch, $oauthtoken@nvcr.io#nvidia/pytorch:latest",
        "me@registry:5000#a/b_c__d-e:t, me@registry:5000#a/b_c__d-e:t",
        "localhost:5000/app, localhost:5000#app:latest",
        "localhost/app, localhost#app:latest",
        "me@app, me@registry-1.docker.io#library/app:latest",
        "[::1]:5000#app, [::1]:5000#app:latest",
        "http://me@registry:5000/app, http://me@registry:5000#app:latest",
    })
    void names(String text, String canonical) {
        ImageReference image = ImageReference.parse(text);

        assertThat(image.text()).isEqualTo(canonical);
        assertThat(ImageReference.parse(image.text())).isEqualTo(image);
    }

    @Test
    void digests() {
        assertThat(ImageReference.parse("me@h.io#app@" + DIGEST))
                .isEqualTo(new ImageReference.Registry("me", "h.io", "app", "", DIGEST, false));
        assertThat(ImageReference.parse("h.io/app:tag@" + DIGEST))
                .isEqualTo(new ImageReference.Registry("", "h.io", "app", "", DIGEST, false));
    }

    @ParameterizedTest
    @CsvSource({
        "'', the image is empty",
        "Ubuntu, 'lower-case'",
        "app:, 'a tag is'",
        "app@sha256:12, 'a digest is sha256:'",
        "dockerd://app, 'reads no dockerd:// images'",
        "h io#app, 'a registry is HOST'",
        "a//b, 'lower-case'",
        "app:t/../x, 'a registry is HOST'",
        "a@b@c, 'lower-case'",
    })
    void refusals(String text, String words) {
        assertThatThrownBy(() -> ImageReference.parse(text))
                .isInstanceOf(ContainerFormatException.class)
                .hasMessageContaining(words);
    }
}
