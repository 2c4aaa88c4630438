#!/bin/sh
# Finds the browsers that the browser tests drive, and installs what is missing when it may.
#
#   tools/setup_browsers.sh [chromium] [firefox] [webkit]     all three when none is named
#   tools/setup_browsers.sh --paths [...]                     also print NAME=path lines, for tests/browser
#
# Exit 0: everything is there. Exit 2: something is missing; one line per missing piece says how to get it.
# CHROME_PATH, FIREFOX_PATH, WEBKIT_DRIVER_PATH and MINIBROWSER_PATH name a program that is not on the path.
set -eu

print_paths=no
engines=
for argument in "$@"; do
    case $argument in
        --paths) print_paths=yes ;;
        chromium | firefox | webkit) engines="$engines $argument" ;;
        *)
            echo "setup_browsers: unknown engine '$argument'; allowed: chromium, firefox, webkit" >&2
            exit 2
            ;;
    esac
done
engines=${engines:-chromium firefox webkit}
system=$(uname -s)

# Prints the first of its arguments that can be run: a path, or a name on the path. Empty arguments are passed over.
first_program() {
    for candidate in "$@"; do
        if [ -n "$candidate" ] && command -v "$candidate" >/dev/null 2>&1; then
            command -v "$candidate"
            return 0
        fi
    done
    return 1
}

find_piece() {
    case $1 in
        CHROMIUM)
            first_program "${CHROME_PATH:-}" chromium chromium-browser google-chrome google-chrome-stable \
                "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" \
                "/Applications/Chromium.app/Contents/MacOS/Chromium"
            ;;
        FIREFOX)
            first_program "${FIREFOX_PATH:-}" firefox-esr firefox /Applications/Firefox.app/Contents/MacOS/firefox
            ;;
        WEBKIT_DRIVER)
            first_program "${WEBKIT_DRIVER_PATH:-}" WebKitWebDriver
            ;;
        MINIBROWSER)
            # Distributions keep it beside the library, in a folder named after the architecture.
            first_program "${MINIBROWSER_PATH:-}" MiniBrowser /usr/lib/*/webkit2gtk-4.1/MiniBrowser \
                /usr/libexec/webkit2gtk-4.1/MiniBrowser /usr/lib/webkit2gtk-4.1/MiniBrowser \
                /usr/lib/*/webkit2gtk-4.0/MiniBrowser
            ;;
        XVFB)
            first_program Xvfb
            ;;
    esac
}

pieces_of() {
    case $1 in
        chromium) echo CHROMIUM ;;
        firefox) echo FIREFOX ;;
        webkit) echo WEBKIT_DRIVER MINIBROWSER XVFB ;;
    esac
}

# The package that brings a piece on Debian and its descendants.
package_of() {
    case $1 in
        CHROMIUM) echo chromium ;;
        FIREFOX) echo firefox-esr ;;
        WEBKIT_DRIVER) echo webkit2gtk-driver ;;
        MINIBROWSER) echo libwebkit2gtk-4.1-0 ;;
        XVFB) echo xvfb ;;
    esac
}

fix_of() {
    if [ "$system" = Darwin ]; then
        case $1 in
            CHROMIUM) echo "install Google Chrome (brew install --cask google-chrome) or set CHROME_PATH" ;;
            FIREFOX) echo "install Firefox (brew install --cask firefox) or set FIREFOX_PATH" ;;
            *) echo "WebKitGTK runs on Linux only; test the other two with ENGINES=chromium,firefox make test" ;;
        esac
    elif command -v apt-get >/dev/null 2>&1; then
        case $1 in
            CHROMIUM) variable=", or set CHROME_PATH" ;;
            FIREFOX) variable=", or set FIREFOX_PATH" ;;
            *) variable= ;;
        esac
        echo "sudo apt-get install $(package_of "$1")$variable"
    else
        case $1 in
            CHROMIUM) echo "install Chromium or Google Chrome, or set CHROME_PATH" ;;
            FIREFOX) echo "install Firefox, or set FIREFOX_PATH" ;;
            WEBKIT_DRIVER) echo "install the WebKitGTK driver (WebKitWebDriver), or set WEBKIT_DRIVER_PATH" ;;
            MINIBROWSER) echo "install WebKitGTK's MiniBrowser, or set MINIBROWSER_PATH" ;;
            XVFB) echo "install Xvfb, the virtual X server" ;;
        esac
    fi
}

missing_pieces() {
    for engine in $engines; do
        for piece in $(pieces_of "$engine"); do
            find_piece "$piece" >/dev/null || echo "$piece"
        done
    done
}

missing=$(missing_pieces)

if [ -n "$missing" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    packages=
    for piece in $missing; do
        packages="$packages $(package_of "$piece")"
    done
    echo "setup_browsers: installing$packages" >&2
    export DEBIAN_FRONTEND=noninteractive
    # The package lists of a fresh image are empty or stale: fetch them only when the first attempt fails.
    # shellcheck disable=SC2086
    apt-get install -y -qq --no-install-recommends $packages >/dev/null 2>&1 ||
        { apt-get update -qq >/dev/null && apt-get install -y -qq --no-install-recommends $packages >/dev/null; } ||
        echo "setup_browsers: apt-get could not install$packages (its message is above)" >&2
    missing=$(missing_pieces)
fi

if [ -n "$missing" ]; then
    for piece in $missing; do
        echo "setup_browsers: $piece is missing: $(fix_of "$piece")" >&2
    done
    exit 2
fi

if [ "$print_paths" = yes ]; then
    for engine in $engines; do
        for piece in $(pieces_of "$engine"); do
            echo "$piece=$(find_piece "$piece")"
        done
    done
fi
