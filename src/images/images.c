// patchbay-images SIDE BYTES: reads an image from stdin and writes it smaller to stdout, at most SIDE pixels a side and
// BYTES bytes, behind a line "TYPE WIDTH HEIGHT". One image, then it ends. What it decodes comes from servers, so
// before it looks at a single byte it gives up everything but reading, writing and memory: a decoder that is taken over
// can reach nothing. Started by host/results/image_scaler.cpp; nothing else knows it.
//
// Ends with 0; 2: wrong words; 3: not an image it reads, or damaged; 4: this kernel lets it give up nothing, and then
// it does nothing; 5: too large for it.
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <jpeglib.h>
#include <png.h>
#include <webp/decode.h>
#include <webp/encode.h>

enum { wrong_words = 2, not_an_image = 3, not_confined = 4, too_large = 5 };

static const size_t most_input = 64u << 20;
static const uint64_t most_pixels = 64u << 20;

static void end_with(int code) { _exit(code); }

// ---- what it may still do ---------------------------------------------------------------------------------------

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#else
#define NATIVE 0
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define KILL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define IF(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), ALLOW
// Memory that can be executed is not given; the third argument of both calls says what it is for.
#define IF_NOT_CODE(number)                                                                                           \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 5), LOAD(args[2]), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, PROT_EXEC), \
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1), ALLOW, KILL

static void give_up_everything(void) {
  const struct rlimit memory = {1u << 30, 1u << 30}, seconds = {10, 10}, none = {0, 0};
  struct sock_filter steps[] = {LOAD(arch),
                                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE, 1, 0),
                                KILL,
                                LOAD(nr),
                                IF(__NR_read),
                                IF(__NR_write),
                                IF(__NR_brk),
                                IF(__NR_munmap),
                                IF(__NR_mremap),
                                IF(__NR_madvise),
                                IF(__NR_futex),
                                IF(__NR_getrandom),
                                IF(__NR_rt_sigreturn),
                                IF(__NR_exit),
                                IF(__NR_exit_group),
                                IF_NOT_CODE(__NR_mmap),
                                IF_NOT_CODE(__NR_mprotect),
                                KILL};
  const struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};
  setrlimit(RLIMIT_CORE, &none);
  if (NATIVE == 0 || setrlimit(RLIMIT_AS, &memory) != 0 || setrlimit(RLIMIT_CPU, &seconds) != 0 ||
      prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    end_with(not_confined);
  }
}

// ---- bytes --------------------------------------------------------------------------------------------------------

struct bytes {
  uint8_t* at;
  size_t size;
};

static void* room(size_t size) {
  void* made = malloc(size ? size : 1);
  if (!made) end_with(too_large);
  return made;
}

static struct bytes read_input(void) {
  struct bytes all = {room(1u << 20), 0};
  size_t have = 1u << 20;
  for (;;) {
    if (all.size == have) {
      if (have >= most_input) end_with(too_large);
      have *= 2;
      all.at = realloc(all.at, have);
      if (!all.at) end_with(too_large);
    }
    const ssize_t got = read(0, all.at + all.size, have - all.size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) end_with(not_an_image);
    if (got == 0) return all;
    all.size += (size_t)got;
  }
}

static void write_all(const void* bytes, size_t size) {
  const char* at = bytes;
  while (size > 0) {
    const ssize_t put = write(1, at, size);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) end_with(not_an_image);
    at += put;
    size -= (size_t)put;
  }
}

// ---- images -------------------------------------------------------------------------------------------------------

// Red, green, blue and opacity, a byte each. `orientation`: how the pixels lie, as a camera writes it: 1 as they are to
// be seen, 2 mirrored, 3 upside down, 4 both, 5 to 8 the same lying on a side.
struct image {
  uint8_t* pixels;
  uint32_t width, height;
  int opaque;
  int orientation;
};

enum kind { is_png, is_jpeg, is_webp };

static void check_size(uint64_t width, uint64_t height) {
  if (width == 0 || height == 0) end_with(not_an_image);
  if (width > most_pixels || height > most_pixels || width * height > most_pixels) end_with(too_large);
}

static int is_opaque(const struct image* image) {
  const size_t count = (size_t)image->width * image->height;
  for (size_t at = 0; at < count; ++at) {
    if (image->pixels[4 * at + 3] != 255) return 0;
  }
  return 1;
}

static struct image read_png(struct bytes in) {
  png_image png = {.version = PNG_IMAGE_VERSION};
  if (!png_image_begin_read_from_memory(&png, in.at, in.size)) end_with(not_an_image);
  check_size(png.width, png.height);
  png.format = PNG_FORMAT_RGBA;
  struct image out = {room(PNG_IMAGE_SIZE(png)), png.width, png.height, 0, 1};
  if (!png_image_finish_read(&png, NULL, out.pixels, 0, NULL)) end_with(not_an_image);
  out.opaque = is_opaque(&out);
  return out;
}

static uint32_t number_at(const uint8_t* at, int size, int big) {
  uint32_t value = 0;
  for (int i = 0; i < size; ++i) value |= (uint32_t)at[i] << 8 * (big ? size - 1 - i : i);
  return value;
}

// What the first directory of an Exif segment says, or 1 when it says nothing that can be understood.
static int orientation_of(const uint8_t* exif, size_t size) {
  enum { header = 6, entry = 12, tag = 0x0112, is_short = 3 };
  if (size < header + 8 || memcmp(exif, "Exif\0", header) != 0) return 1;
  const uint8_t* at = exif + header;
  size -= header;
  const int big = at[0] == 'M';
  if (memcmp(at, big ? "MM\0*" : "II*\0", 4) != 0) return 1;
  const size_t directory = number_at(at + 4, 4, big);
  if (directory > size - 2) return 1;
  const size_t count = number_at(at + directory, 2, big);
  for (size_t i = 0; i < count && directory + 2 + (i + 1) * entry <= size; ++i) {
    const uint8_t* one = at + directory + 2 + i * entry;
    if (number_at(one, 2, big) != tag) continue;
    const uint32_t value = number_at(one + 8, 2, big);
    return number_at(one + 2, 2, big) == is_short && value >= 1 && value <= 8 ? (int)value : 1;
  }
  return 1;
}

static void refuse_jpeg(j_common_ptr info) {
  (void)info;
  end_with(not_an_image);
}
static void say_nothing(j_common_ptr info) { (void)info; }

static struct image read_jpeg(struct bytes in, uint32_t side) {
  struct jpeg_decompress_struct info;
  struct jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  errors.error_exit = refuse_jpeg;
  errors.output_message = say_nothing;
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, in.at, in.size);
  jpeg_save_markers(&info, JPEG_APP0 + 1, 0xFFFF);
  if (jpeg_read_header(&info, TRUE) != JPEG_HEADER_OK) end_with(not_an_image);
  // The decoder itself halves as often as the result stays large enough.
  info.scale_denom = 1;
  while (info.scale_denom < 8 && info.image_width / (2 * info.scale_denom) >= side &&
         info.image_height / (2 * info.scale_denom) >= side) {
    info.scale_denom *= 2;
  }
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&info);
  check_size(info.output_width, info.output_height);
  struct image out = {room((size_t)info.output_width * info.output_height * 4), info.output_width, info.output_height,
                      1, 1};
  for (jpeg_saved_marker_ptr one = info.marker_list; one && out.orientation == 1; one = one->next) {
    out.orientation = orientation_of(one->data, one->data_length);
  }
  uint8_t* line = room((size_t)info.output_width * 3);
  while (info.output_scanline < info.output_height) {
    uint8_t* to = out.pixels + (size_t)info.output_scanline * out.width * 4;
    JSAMPROW rows[] = {line};
    if (jpeg_read_scanlines(&info, rows, 1) != 1) end_with(not_an_image);
    for (uint32_t x = 0; x < out.width; ++x) {
      memcpy(to + 4 * (size_t)x, line + 3 * (size_t)x, 3);
      to[4 * (size_t)x + 3] = 255;
    }
  }
  free(line);
  jpeg_destroy_decompress(&info);
  return out;
}

static struct image read_webp(struct bytes in) {
  int width = 0, height = 0;
  if (!WebPGetInfo(in.at, in.size, &width, &height)) end_with(not_an_image);
  check_size((uint64_t)width, (uint64_t)height);
  struct image out = {WebPDecodeRGBA(in.at, in.size, &width, &height), (uint32_t)width, (uint32_t)height, 0, 1};
  if (!out.pixels) end_with(not_an_image);
  out.opaque = is_opaque(&out);
  return out;
}

// Each new pixel is the average of the old ones it covers, weighted by how much of them it covers and how opaque
// they are.
static struct image scaled(const struct image* in, uint32_t width, uint32_t height) {
  struct image out = {room((size_t)width * height * 4), width, height, in->opaque, in->orientation};
  const double step_x = (double)in->width / width, step_y = (double)in->height / height;
  for (uint32_t y = 0; y < height; ++y) {
    const double top = y * step_y, bottom = (y + 1) * step_y;
    for (uint32_t x = 0; x < width; ++x) {
      const double left = x * step_x, right = (x + 1) * step_x;
      double sum[3] = {0, 0, 0}, opacity = 0, area = 0;
      for (uint32_t from_y = (uint32_t)top; from_y < in->height && from_y < bottom; ++from_y) {
        const double high = (from_y + 1 < bottom ? from_y + 1 : bottom) - (from_y > top ? from_y : top);
        for (uint32_t from_x = (uint32_t)left; from_x < in->width && from_x < right; ++from_x) {
          const double wide = (from_x + 1 < right ? from_x + 1 : right) - (from_x > left ? from_x : left);
          const uint8_t* pixel = in->pixels + ((size_t)from_y * in->width + from_x) * 4;
          const double part = high * wide, weight = part * pixel[3];
          for (int colour = 0; colour < 3; ++colour) sum[colour] += weight * pixel[colour];
          opacity += weight;
          area += part;
        }
      }
      uint8_t* to = out.pixels + ((size_t)y * width + x) * 4;
      for (int colour = 0; colour < 3; ++colour) {
        to[colour] = opacity > 0 ? (uint8_t)(sum[colour] / opacity + 0.5) : 0;
      }
      to[3] = area > 0 ? (uint8_t)(opacity / area + 0.5) : 0;
    }
  }
  return out;
}

// The way it is to be seen. What is written has no place for how it lies.
static struct image turned(const struct image* in) {
  const int lies = in->orientation >= 5;
  struct image out = {room((size_t)in->width * in->height * 4), lies ? in->height : in->width,
                      lies ? in->width : in->height, in->opaque, 1};
  // From which corner it is read: for those that lie, before rows become columns.
  static const int from_right[] = {0, 1, 1, 0, 0, 0, 1, 1}, from_bottom[] = {0, 0, 1, 1, 0, 1, 1, 0};
  const int right = from_right[in->orientation - 1], bottom = from_bottom[in->orientation - 1];
  for (uint32_t y = 0; y < out.height; ++y) {
    for (uint32_t x = 0; x < out.width; ++x) {
      uint32_t from_x = lies ? y : x, from_y = lies ? x : y;
      if (right) from_x = in->width - 1 - from_x;
      if (bottom) from_y = in->height - 1 - from_y;
      memcpy(out.pixels + ((size_t)y * out.width + x) * 4, in->pixels + ((size_t)from_y * in->width + from_x) * 4, 4);
    }
  }
  return out;
}

// ---- writing --------------------------------------------------------------------------------------------------------

static struct bytes as_png(const struct image* image) {
  png_image png = {.version = PNG_IMAGE_VERSION, .width = image->width, .height = image->height};
  png.format = PNG_FORMAT_RGBA;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(png);
  struct bytes out = {room(size), 0};
  if (!png_image_write_to_memory(&png, out.at, &size, 0, image->pixels, 0, NULL)) end_with(not_an_image);
  out.size = size;
  return out;
}

static struct bytes as_jpeg(const struct image* image) {
  struct jpeg_compress_struct info;
  struct jpeg_error_mgr errors;
  unsigned char* made = NULL;
  unsigned long size = 0;
  info.err = jpeg_std_error(&errors);
  errors.error_exit = refuse_jpeg;
  errors.output_message = say_nothing;
  jpeg_create_compress(&info);
  jpeg_mem_dest(&info, &made, &size);
  info.image_width = image->width;
  info.image_height = image->height;
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 85, TRUE);
  jpeg_start_compress(&info, TRUE);
  uint8_t* line = room((size_t)image->width * 3);
  while (info.next_scanline < info.image_height) {
    const uint8_t* from = image->pixels + (size_t)info.next_scanline * image->width * 4;
    for (uint32_t x = 0; x < image->width; ++x) memcpy(line + 3 * (size_t)x, from + 4 * (size_t)x, 3);
    JSAMPROW rows[] = {line};
    jpeg_write_scanlines(&info, rows, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  free(line);
  return (struct bytes){made, size};
}

static struct bytes as_webp(const struct image* image) {
  struct bytes out = {NULL, 0};
  out.size = WebPEncodeRGBA(image->pixels, (int)image->width, (int)image->height, (int)image->width * 4, 85, &out.at);
  if (out.size == 0) end_with(not_an_image);
  return out;
}

static enum kind kind_of(struct bytes in) {
  static const uint8_t png[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  if (in.size >= sizeof png && memcmp(in.at, png, sizeof png) == 0) return is_png;
  if (in.size >= 3 && in.at[0] == 0xFF && in.at[1] == 0xD8 && in.at[2] == 0xFF) return is_jpeg;
  if (in.size >= 12 && memcmp(in.at, "RIFF", 4) == 0 && memcmp(in.at + 8, "WEBP", 4) == 0) return is_webp;
  end_with(not_an_image);
  return is_png;
}

static unsigned long number(const char* text) {
  char* end = NULL;
  errno = 0;
  const unsigned long value = strtoul(text, &end, 10);
  if (errno != 0 || *text < '0' || *text > '9' || *end != '\0' || value == 0) end_with(wrong_words);
  return value;
}

int main(int count, char** words) {
  if (count != 3) end_with(wrong_words);
  const unsigned long side = number(words[1]), most = number(words[2]);
  if (side > 16000) end_with(wrong_words);
  give_up_everything();

  const struct bytes in = read_input();
  const enum kind kind = kind_of(in);
  const struct image whole = kind == is_png    ? read_png(in)
                             : kind == is_jpeg ? read_jpeg(in, (uint32_t)side)
                                               : read_webp(in);
  free(in.at);

  double scale = 1;
  const uint32_t longest = whole.width > whole.height ? whole.width : whole.height;
  if (longest > side) scale = (double)side / longest;
  for (int tries = 0; tries < 12; ++tries, scale *= 0.75) {
    const uint32_t width = whole.width * scale < 1 ? 1 : (uint32_t)(whole.width * scale);
    const uint32_t height = whole.height * scale < 1 ? 1 : (uint32_t)(whole.height * scale);
    struct image small = width == whole.width && height == whole.height ? whole : scaled(&whole, width, height);
    if (small.orientation != 1) {
      const struct image upright = turned(&small);
      if (small.pixels != whole.pixels) free(small.pixels);
      small = upright;
    }
    const char* type = kind == is_png ? "image/png" : kind == is_jpeg ? "image/jpeg" : "image/webp";
    struct bytes made = kind == is_png ? as_png(&small) : kind == is_jpeg ? as_jpeg(&small) : as_webp(&small);
    if (made.size > most && kind == is_png && small.opaque) {  // a photograph, most likely
      free(made.at);
      made = as_jpeg(&small);
      type = "image/jpeg";
    }
    if (made.size <= most) {
      char line[64];
      const int length = snprintf(line, sizeof line, "%s %u %u\n", type, small.width, small.height);
      write_all(line, (size_t)length);
      write_all(made.at, made.size);
      end_with(0);
    }
    free(made.at);
    if (small.pixels != whole.pixels) free(small.pixels);
  }
  end_with(too_large);
}
